"""The looks of the report, light and dark."""

STYLE = """
:root{color-scheme:light dark;--bg:#fbfaf7;--card:#fff;--ink:#1d2530;--soft:#667080;--line:#e3e1da;
--accent:#2f5d8c;
--holds:#1f7a4d;--fails:#b3261e;--bounds:#946200;--unknown:#6b4aa0;--tint:8%}
@media(prefers-color-scheme:dark){:root{--bg:#14181e;--card:#1b2129;--ink:#e4e7eb;--soft:#98a2af;
--line:#2e3742;
--accent:#8db8e6;--holds:#62c796;--fails:#ff8a80;--bounds:#e5b454;--unknown:#bda2f0;--tint:14%}}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--ink);
font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;
font-variant-numeric:tabular-nums}
header,main,footer{max-width:72rem;margin:0 auto;padding:0 1.5rem}
header{padding-top:3rem}
h1{font-size:2.4rem;line-height:1.1;margin:0;letter-spacing:-.02em}h1 span{color:var(--soft);
font-weight:300}
h2{font-size:1.35rem;margin:0;letter-spacing:-.01em}
h3{font-size:.75rem;text-transform:uppercase;letter-spacing:.08em;color:var(--soft);margin:1.1rem 0 .3rem;
font-weight:600}
a{color:inherit;text-decoration-color:var(--line);text-underline-offset:.2em}
code,.timeline{
font-family:ui-monospace,"SF Mono","Cascadia Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace;
font-size:.86em}
.lead{font-size:1.1rem;color:var(--soft);max-width:46rem;margin:.8rem 0 1.6rem}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(13rem,1fr));gap:1rem;list-style:none;
margin:0;padding:0}
.tiles li{background:var(--card);border:1px solid var(--line);border-top:3px solid var(--c);
border-radius:.6rem;
padding:.9rem 1.1rem;display:flex;flex-direction:column}
.tiles b{font-size:2rem;line-height:1.1;font-weight:600}.tiles span{color:var(--c);font-weight:600}
.tiles small{color:var(--soft);line-height:1.35;margin-top:.2rem}
.holds{--c:var(--holds)}.fails{--c:var(--fails)}.holds-within-bounds{--c:var(--bounds)}.unknown{
--c:var(--unknown)}
section{background:var(--card);border:1px solid var(--line);border-radius:.8rem;padding:1.5rem 1.6rem;
margin:1.6rem 0;
scroll-margin-top:1rem}
.scroll{overflow-x:auto;max-width:100%}
.overview table{border-collapse:collapse;width:100%;margin-top:1rem;font-size:.92rem}
.overview th{font-weight:500;text-align:left;padding:.35rem .8rem .35rem 0;white-space:nowrap;
vertical-align:top}
.overview thead th{color:var(--soft);font-size:.82rem;border-bottom:1px solid var(--line)}
.overview tbody tr+tr>*{border-top:1px solid var(--line)}
.overview td{padding:.3rem .8rem .3rem 0;vertical-align:top}
.mark{display:inline-block;color:var(--c);background:color-mix(in srgb,var(--c) var(--tint),transparent);
border-radius:.35rem;padding:0 .5rem;text-decoration:none;font-weight:600;min-width:1.9rem;
text-align:center;line-height:1.6rem}
.mark:hover,.mark:focus{outline:1px solid var(--c)}
.others .mark{font-weight:500;font-size:.8rem;text-align:left;margin:0 .2rem .25rem 0}
.file{color:var(--soft);font-size:.85rem;margin:.1rem 0 .8rem}
.doc{margin:0 0 1rem;font-size:.95rem}
figure{margin:0 0 1.2rem;overflow-x:auto;background:#fff;border:1px solid var(--line);border-radius:.5rem;
padding:.8rem 1rem}
figure svg{display:block;max-width:max(100%,36rem);height:auto}
@media(prefers-color-scheme:dark){figure{background:none}
figure svg{filter:invert(1) hue-rotate(180deg);mix-blend-mode:screen}}
details{border-top:1px solid var(--line)}.verdicts{border-bottom:1px solid var(--line)}
summary{display:grid;grid-template-columns:14.5rem minmax(0,1fr) auto 4.5rem;gap:0 1rem;
align-items:baseline;
padding:.5rem .2rem;cursor:pointer;list-style:none}
summary::-webkit-details-marker{display:none}
summary:hover,summary:focus-visible{background:color-mix(in srgb,var(--c) var(--tint),transparent)}
summary code{overflow-wrap:anywhere}
.word{color:var(--c);font-weight:600;white-space:nowrap}
.word::before{content:"▸";display:inline-block;width:1.1em;color:var(--soft);font-weight:400}
details[open] .word::before{content:"▾"}
.short,.time{color:var(--soft);font-size:.86rem}.time{text-align:right}
.body{scroll-margin-top:5rem;padding:0 .2rem 1.2rem 1.3rem}.body ul{margin:.2rem 0;padding-left:1.2rem}
.body li{margin:.1rem 0}
.engine,.replay{color:var(--soft);font-size:.86rem;margin:.5rem 0}.reason,.gap{color:var(--c);
font-weight:600}
.timeline{border-collapse:separate;border-spacing:0;margin:.2rem 0 0}
.timeline th,.timeline td{padding:.12rem .65rem;text-align:right;white-space:nowrap;font-weight:400}
.timeline thead th{color:var(--soft);border-bottom:1px solid var(--line)}
.timeline th[scope=row]{text-align:left;padding-left:.3rem}
.timeline .kind{text-align:left;color:var(--soft);padding:.12rem .3rem;font-size:.9em}
.timeline .in th,.timeline .out th{font-weight:700}
.timeline .first>*{border-top:1px solid var(--line)}
.timeline .none,.timeline .of{color:var(--soft);opacity:.75}
.timeline .last,.timeline .loop{background:color-mix(in srgb,var(--c) calc(var(--tint) + 4%),transparent)}
.timeline thead .last,.timeline thead .loop{color:var(--c);font-weight:700}
.timeline .over{color:#fff;background:var(--fails);font-weight:700}
@media(prefers-color-scheme:dark){.timeline .over{color:#14181e}}
.timeline tfoot td{padding:.05rem 0;background:none}
.timeline tfoot .last,.timeline tfoot .loop{color:var(--c);text-align:center;background:none;
font-weight:700}
.timeline tfoot .loop{border:2px solid var(--c);border-top:0;border-radius:0 0 .5rem .5rem}
.shows{margin:.5rem 0 0}.shows b{color:var(--c)}
footer{color:var(--soft);font-size:.86rem;padding-bottom:3rem}
dl{display:grid;grid-template-columns:repeat(auto-fit,minmax(18rem,1fr));gap:.5rem 2rem;margin:0}
dt{font-size:.72rem;text-transform:uppercase;letter-spacing:.08em}dd{margin:0;color:var(--ink)}
@media(max-width:46rem){summary{grid-template-columns:1fr auto}.short{display:none}summary code{grid-row:2;
grid-column:1/3}
section{padding:1.1rem 1rem}header,main,footer{padding-left:.8rem;padding-right:.8rem}}
@media print{section{break-inside:avoid-page}}
"""
