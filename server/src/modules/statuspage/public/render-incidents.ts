import { incidentStateTexts } from '@shoal/contract'
import { escapeHtml } from '../../../mail/index.ts'
import type { PublicIncident } from './read-page.ts'
import { timeText } from './texts.ts'

/** Maximum length of the incidents on the page, in characters of HTML. The page shows at least one incident; the feed has all. */
const maxLength = 6000

const impactTexts = { DEGRADED: 'Degraded', OUTAGE: 'Outage' } as const

/** Renders incidents with their updates, newest first, as a list of bounded length. */
export function renderIncidents(incidents: PublicIncident[], pageUrl: string): string {
  const items: string[] = []
  let length = 0
  for (const incident of incidents) {
    const item = renderIncident(incident)
    if (items.length > 0 && length + item.length > maxLength) break
    items.push(item)
    length += item.length
  }
  const hidden = incidents.length - items.length
  const more =
    hidden > 0 ? `<p class="m">${hidden} more in the <a href="${escapeHtml(pageUrl)}/feed.xml">feed</a>.</p>` : ''
  return `<ul class="c">${items.join('')}</ul>${more}`
}

function renderIncident({ id, title, impact, tags, startedAt, resolvedAt, updates }: PublicIncident): string {
  const affected = tags.length > 0 ? `${tags.map((tag) => `<bdi>${escapeHtml(tag)}</bdi>`).join(', ')} · ` : ''
  const [newest, ...older] = updates.map(renderUpdate)
  const shown = older.slice(0, 10)
  return `<li id="i-${id}"><div class="r"><h3><bdi>${escapeHtml(title)}</bdi></h3><span class="s ${resolvedAt ? 'operational' : impact.toLowerCase()}">${
    resolvedAt ? 'Resolved' : impactTexts[impact]
  }</span></div><p class="m">${affected}${timeText(startedAt)}${resolvedAt ? ` to ${timeText(resolvedAt)}` : ''}</p>
<ol class="u">${newest ?? ''}</ol>${
    shown.length > 0
      ? `<details class="m"><summary>Earlier updates</summary><ol class="u">${shown.join('')}</ol></details>`
      : ''
  }</li>`
}

const renderUpdate = ({ at, state, text }: PublicIncident['updates'][number]): string =>
  `<li><b>${incidentStateTexts[state]}</b> <span class="m">${timeText(at)}</span><p class="t"><bdi>${escapeHtml(text)}</bdi></p></li>`
