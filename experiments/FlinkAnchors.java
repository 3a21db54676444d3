import java.io.DataInputStream;
import java.io.FileInputStream;
import java.io.BufferedInputStream;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.cep.CEP;
import org.apache.flink.cep.functions.PatternProcessFunction;
import org.apache.flink.cep.pattern.Pattern;
import org.apache.flink.cep.pattern.conditions.SimpleCondition;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.util.Collector;

/**
 * A, then B, then C, all matches that span less than a window: Flink's library for complex events, in one process.
 *
 * Arguments: file of events (a type and a key, as 32-bit numbers), how many, window. Tells the number of matches and
 * the CPU seconds of the process from when the events are there; the JVM's start is not among them.
 */
public class FlinkAnchors {
    public static class Event {
        public int type;
        public int key;
        public long time;
    }

    static int[] types;
    static int[] keys;
    static final AtomicLong MATCHES = new AtomicLong();

    static SimpleCondition<Event> is(int type) {
        return SimpleCondition.of(event -> event.type == type);
    }

    static class Counted extends PatternProcessFunction<Event, Long> {
        @Override
        public void processMatch(Map<String, List<Event>> match, Context context, Collector<Long> out) {
            MATCHES.incrementAndGet();
        }
    }

    public static void main(String[] given) throws Exception {
        int count = Integer.parseInt(given[1]);
        types = new int[count];
        keys = new int[count];
        try (DataInputStream in = new DataInputStream(new BufferedInputStream(new FileInputStream(given[0])))) {
            for (int i = 0; i < count; i++) {
                types[i] = in.readInt();
                keys[i] = in.readInt();
            }
        }
        long began = cpu();
        StreamExecutionEnvironment flink = StreamExecutionEnvironment.createLocalEnvironment(1);
        flink.getConfig().enableObjectReuse();
        var events = flink.fromSequence(0, count - 1).map(i -> {
            Event event = new Event();
            event.type = types[(int) (long) i];
            event.key = keys[(int) (long) i];
            event.time = i;
            return event;
        }).returns(Event.class).assignTimestampsAndWatermarks(
            WatermarkStrategy.<Event>forMonotonousTimestamps().withTimestampAssigner((event, none) -> event.time));
        var pattern = Pattern.<Event>begin("a").where(is(0)).followedByAny("b").where(is(1)).followedByAny("c")
            .where(is(2)).within(Duration.ofMillis(Long.parseLong(given[2])));
        CEP.pattern(events.keyBy(event -> event.key), pattern).process(new Counted()).print();
        flink.execute();
        System.out.println(MATCHES.get() + " " + (cpu() - began) / 1e9);
        System.exit(0);
    }

    static long cpu() {
        return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
            .getProcessCpuTime();
    }
}
