import { createHash } from 'node:crypto'

/**
 * The console's tokens (`console/src/ui/tokens.css`) that the page needs; `chart-3` is the amber of bars. `style.test.ts`
 * compares them.
 */
export const lightTokens = {
  n1: '#ffffff',
  n2: '#f7f9fa',
  n4: '#e3e9ec',
  n8: '#82929c',
  n9: '#5f6f7a',
  n10: '#4a5a65',
  n12: '#0f1a21',
  accent: '#0b7285',
  good: '#18794e',
  'good-soft': '#e6f6ed',
  warn: '#8f5300',
  'warn-soft': '#fdf1dc',
  bad: '#c3282d',
  'bad-soft': '#fdeceb',
  'chart-3': '#b4690e',
} as const
export const darkTokens: Record<keyof typeof lightTokens, string> = {
  n1: '#0b1216',
  n2: '#0f181d',
  n4: '#1d2b33',
  n8: '#5f7583',
  n9: '#8598a4',
  n10: '#a0b2bd',
  n12: '#e7eff3',
  accent: '#3fd0d4',
  good: '#4cc38a',
  'good-soft': '#0e2a1e',
  warn: '#f3b04b',
  'warn-soft': '#2c2110',
  bad: '#ff7a77',
  'bad-soft': '#33171a',
  'chart-3': '#f0a94a',
}

const declarations = (tokens: Record<string, string>) =>
  Object.entries(tokens)
    .map(([name, value]) => `--${name}:${value}`)
    .join(';')

/**
 * The whole style of the page. It uses no external files, so that the page needs only one request. Class names are short, to keep the
 * page small: `b` banner, `c` list of cards, `r` row, `m` secondary text, `t` text of an update, `u` updates, `d` days, `s` status,
 * `l` logo.
 */
export const style = `:root{color-scheme:light dark;${declarations(lightTokens)}}
@media(prefers-color-scheme:dark){:root{${declarations(darkTokens)}}}
*{box-sizing:border-box;margin:0}
body{background:var(--n2);color:var(--n12);font:14px/1.5 Geist,system-ui,sans-serif;overflow-wrap:anywhere}
main,header,footer{max-width:760px;margin:auto;padding:0 16px}
header{padding-top:40px;padding-bottom:20px}
main{display:grid;gap:32px}
footer{padding-top:32px;padding-bottom:48px;color:var(--n9);font-size:13px;display:grid;gap:12px}
h1{font-size:24px;line-height:1.3;font-weight:600}
h2{font-size:16px;font-weight:600;margin-bottom:10px}
h3{font-size:14px;font-weight:600}
a{color:var(--accent)}
a:focus-visible,summary:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
ul,ol{list-style:none;padding:0}
.b{padding:12px 16px;border:1px solid;border-radius:8px;font-size:16px;font-weight:600}
.c{background:var(--n1);border:1px solid var(--n4);border-radius:8px}
.c>li{padding:16px}
.c>li+li{border-top:1px solid var(--n4)}
.r{display:flex;flex-wrap:wrap;justify-content:space-between;gap:0 16px}
.m{color:var(--n9);font-size:13px}
.t{white-space:pre-line}
.u{display:grid;gap:8px;margin-top:8px}
.operational,.good{color:var(--good);stroke:var(--good)}
.degraded{color:var(--warn);stroke:var(--chart-3)}
.outage{color:var(--bad);stroke:var(--bad)}
.hibernated,.unknown{color:var(--n9);stroke:var(--n8)}
.b.operational{background:var(--good-soft)}
.b.degraded{background:var(--warn-soft)}
.b.outage{background:var(--bad-soft)}
svg.d{display:block;width:100%;height:24px;margin:10px 0 4px}
.d path{stroke-width:24;stroke-dasharray:3 1;fill:none}
.d .hibernated{stroke-width:10}
.d .unknown{stroke-width:2}
.s{font-weight:600}
summary{cursor:pointer}
.l{width:18px;height:18px;fill:currentColor;vertical-align:-4px;margin-right:6px}
`

/** The content security policy of the page: nothing but its own style and the icon. */
export const statusPagePolicy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')
