"""Hand-written models with independently known answers."""

COUNTER = """
MODULE main
VAR go : boolean; n : 0..7; w : unsigned word[3]; z : signed word[3]; light : {red, green, 5};
    half : {only}; box : array 0..1 of boolean; inner : cell(go);
DEFINE twice := n * 2; full := n = 7;
ASSIGN
  init(n) := 0; next(n) := case go & n < 7 : n + 1; TRUE : n; esac;
  init(w) := 0ud3_5; next(w) := w + 0ud3_1;
  init(z) := -0sd3_1; next(z) := z;
  init(light) := red; next(light) := case light = red : green; light = green : 5; TRUE : red; esac;
  init(box[0]) := FALSE; next(box[0]) := !box[0]; init(box[1]) := TRUE; next(box[1]) := box[1];
MODULE cell(go)
VAR seen : boolean;
ASSIGN init(seen) := FALSE; next(seen) := seen | go;
"""

# Peterson's algorithm: mutual exclusion holds; with weakly fair scheduling nobody starves.
PETERSON = """
MODULE main
VAR turn : 0..1; who : 0..1; p : proc(who = 0, 0, turn, q.want); q : proc(who = 1, 1, turn, p.want);
ASSIGN
  init(turn) := 0;
  next(turn) := case p.sets : 1; q.sets : 0; TRUE : turn; esac;
MODULE proc(runs, me, turn, other)
VAR at : {idle, asked, waiting, critical}; want : boolean; wish : boolean;
DEFINE sets := runs & at = asked;
ASSIGN
  init(at) := idle; init(want) := FALSE;
  next(at) := case
    !runs : at; at = idle & wish : asked; at = asked : waiting;
    at = waiting & (!other | turn = me) : critical; at = critical : idle; TRUE : at; esac;
  next(want) := case !runs : want; at = idle & wish : TRUE; at = critical : FALSE; TRUE : want; esac;
FAIRNESS runs
"""
BROKEN_PETERSON = PETERSON.replace("(!other | turn = me)", "TRUE")

# 0 1 2 3 4, then for ever 2 3 4.
LASSO = """
MODULE main
VAR n : 0..4;
ASSIGN init(n) := 0; next(n) := case n < 4 : n + 1; TRUE : 2; esac;
"""

# The BDD of a product grows exponentially in any order of its variables.
HARD = """
MODULE main
VAR a : unsigned word[24]; b : unsigned word[24]; c : unsigned word[24];
ASSIGN init(c) := 0ud24_1; next(c) := a * b + c; next(a) := a + (b * c);  next(b) := b * a;
"""


def long(bits: int) -> str:
    """A counter: a search for its states takes one round for each of them."""
    return f"""
MODULE main
VAR n : unsigned word[{bits}];
ASSIGN init(n) := 0ud{bits}_0; next(n) := n + 0ud{bits}_1;
"""
