"""The looks of the report, light and dark: what all pages share, and what only this one has."""

from workbench.show.explorer import asset

STYLE = (
    asset("page.css")
    + """
header,main,footer{max-width:72rem;margin:0 auto;padding:0 1.5rem}
header{padding-top:3rem}
.lead{font-size:1.1rem;color:var(--soft);max-width:46rem;margin:.8rem 0 1.6rem}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(13rem,1fr));gap:1rem;list-style:none;
margin:0;padding:0}
.tiles li{background:var(--card);border:1px solid var(--line);border-top:3px solid var(--c);
border-radius:.6rem;
padding:.9rem 1.1rem;display:flex;flex-direction:column}
.tiles b{font-size:2rem;line-height:1.1;font-weight:600}.tiles span{color:var(--c);font-weight:600}
.tiles small{color:var(--soft);line-height:1.35;margin-top:.2rem}
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
footer{color:var(--soft);font-size:.86rem;padding-bottom:3rem}
dl{display:grid;grid-template-columns:repeat(auto-fit,minmax(18rem,1fr));gap:.5rem 2rem;margin:0}
dt{font-size:.72rem;text-transform:uppercase;letter-spacing:.08em}dd{margin:0;color:var(--ink)}
@media(max-width:46rem){summary{grid-template-columns:1fr auto}.short{display:none}summary code{grid-row:2;
grid-column:1/3}
section{padding:1.1rem 1rem}header,main,footer{padding-left:.8rem;padding-right:.8rem}}
@media print{section{break-inside:avoid-page}}
"""
)
