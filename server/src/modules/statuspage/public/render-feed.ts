import { incidentStateTexts } from '@shoal/contract'
import { escapeHtml } from '../../../mail/index.ts'
import type { PublicIncident, PublicPage } from './read-page.ts'

/** Characters that XML 1.0 does not allow even when escaped. */
// oxlint-disable-next-line no-control-regex
const invalidInXml = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF]/g

const escapeXml = (text: string) => escapeHtml(text.replaceAll(invalidInXml, ''))

/** Renders the incidents of a page as an Atom feed (RFC 4287): one entry for each incident, with all its updates. */
export function renderFeed(page: PublicPage): string {
  const url = escapeXml(page.url)
  const changes = page.incidents.map(({ changedAt }) => changedAt)
  return `<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom">
<id>${url}</id>
<title>${escapeXml(page.title)}: incidents</title>
<updated>${changes.toSorted().at(-1) ?? firstDay(page)}</updated>
<link rel="self" type="application/atom+xml" href="${url}/feed.xml"/>
<link rel="alternate" type="text/html" href="${url}"/>
<author><name>${escapeXml(page.title)}</name></author>
${page.incidents.map((incident) => entryOf(page, incident)).join('\n')}
</feed>
`
}

/** The date of a feed without entries. Atom requires one, and it must not change with every rendering. */
const firstDay = ({ tags, generatedAt }: PublicPage) =>
  `${tags[0]?.measuredSince ?? generatedAt.slice(0, 10)}T00:00:00.000Z`

function entryOf({ url }: PublicPage, incident: PublicIncident): string {
  const affected = incident.tags.length > 0 ? `<p>Affected: ${incident.tags.map(escapeXml).join(', ')}</p>` : ''
  const updates = incident.updates
    .map(({ at, state, text }) => `<p><b>${incidentStateTexts[state]}</b> ${at}</p><p>${escapeXml(text)}</p>`)
    .join('')
  return `<entry>
<id>urn:uuid:${incident.id}</id>
<title>${escapeXml(incident.title)}${incident.resolvedAt ? ' (resolved)' : ''}</title>
<published>${incident.startedAt}</published>
<updated>${incident.changedAt}</updated>
<link rel="alternate" type="text/html" href="${escapeXml(url)}#i-${incident.id}"/>
<content type="html">${escapeXml(affected + updates)}</content>
</entry>`
}
