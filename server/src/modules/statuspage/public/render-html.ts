import { statusPageLimits } from '@shoal/contract'
import { escapeHtml } from '../../../mail/index.ts'
import { renderDays, renderAffectedDays } from './render-days.ts'
import { renderIncidents } from './render-incidents.ts'
import type { PublicPage, PublicTag } from './read-page.ts'
import { style } from './style.ts'
import type { TagStatus } from './tag-status.ts'
import { dateText, timeText } from './texts.ts'

const pageStatusTexts: Record<TagStatus, string> = {
  operational: 'All services are operational',
  degraded: 'Some services are degraded',
  outage: 'Some services are not available',
  hibernated: 'All services are paused by their owner',
  unknown: 'The status is not known yet',
}

const tagStatusTexts: Record<TagStatus, string> = {
  operational: 'Operational',
  degraded: 'Degraded',
  outage: 'Outage',
  hibernated: 'Paused by its owner',
  unknown: 'Not known',
}

const logo =
  '<svg class="l" viewBox="0 0 24 24" aria-hidden="true"><path d="M10.5 8c4.7-.7 8.8.6 12 4-3.200 3.400-7.300 4.700-12 4 1.300-2.700 1.300-5.300 0-8zM3.500 1.800c3.700-.5 7 .5 9.500 3.200-2.500 2.700-5.800 3.700-9.500 3.200 1-2.200 1-4.200 0-6.400zM3.500 15.800c3.700-.5 7 .5 9.500 3.200-2.500 2.700-5.800 3.700-9.500 3.200 1-2.200 1-4.200 0-6.400zM1 9.800c2.600-.3 4.700.4 6.500 2.200-1.800 1.800-3.900 2.500-6.500 2.200.7-1.500.7-2.900 0-4.400z"/></svg>'

const document = (title: string, head: string, body: string) => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="light dark"><title>${escapeHtml(title)}</title>
<link rel="icon" href="/favicon.svg" type="image/svg+xml">${head}<style>${style}</style></head><body>${body}</body></html>
`

const notices = {
  preview: 'This is a preview for administrators. The page is off, and nothing is measured until it is turned on.',
  outdated: 'This page cannot be updated at the moment, so it shows what was known at the time below.',
}

/** Renders the page as HTML without scripts. Every text of a user is escaped. */
export function renderHtml(page: PublicPage, { notice }: { notice?: keyof typeof notices } = {}): string {
  const open = page.incidents.filter(({ resolvedAt }) => resolvedAt === null)
  const resolved = page.incidents.filter(({ resolvedAt }) => resolvedAt !== null)
  const feedUrl = escapeHtml(`${page.url}/feed.xml`)
  const status = page.tags.length === 0 && open.length === 0 ? null : page.status
  return document(
    `${page.title}: status`,
    `<link rel="alternate" type="application/atom+xml" title="Incidents" href="${feedUrl}">`,
    `<header><h1><bdi>${escapeHtml(page.title)}</bdi></h1></header><main>
${notice ? `<p class="b unknown">${notices[notice]}</p>` : ''}${status ? `<p class="b ${status}">${pageStatusTexts[status]}</p>` : ''}
${open.length > 0 ? `<section><h2>Open incidents</h2>${renderIncidents(open, page.url)}</section>` : ''}
<section><h2>Services</h2>${renderTags(page)}</section>
<section><h2>Past incidents</h2>${
      resolved.length > 0
        ? renderIncidents(resolved, page.url)
        : `<p class="m">None in the last ${statusPageLimits.days} days.</p>`
    }</section></main>
<footer><p>As of ${timeText(page.generatedAt)}. <a href="${feedUrl}">Feed of incidents</a>&nbsp;· <a href="${escapeHtml(page.url)}.json">JSON</a></p>
<details><summary>How this is measured</summary><p>Availability is the share of requests that were answered without an error of the server, in the last ${statusPageLimits.days} days and today (UTC). Days without requests are judged by the time with a healthy API. Time in which the owner paused a service, and time that was not measured, does not count.</p></details>
<p>${logo}Measured by Shoal</p></footer>`,
  )
}

/** The response for all addresses without a public page. It is the same for all, so that it does not reveal which pages exist. */
export const notFoundHtml = document(
  'Not found',
  '<meta name="robots" content="noindex">',
  '<header><h1>Not found</h1></header><main><p>There is no status page at this address.</p></main>',
)

/** The page for all addresses while the database does not respond and this process has no copy of the page. */
export const unavailableHtml = document(
  'Status not available',
  '<meta name="robots" content="noindex">',
  '<header><h1>Status not available</h1></header><main><p>The status cannot be read at the moment. This says nothing about the services themselves. Please try again in a moment.</p></main>',
)

function renderTags({ tags, generatedAt }: PublicPage): string {
  if (tags.length === 0) return '<p class="m">No services are listed yet.</p>'
  return `<ul class="c">${tags.map((tag) => renderTag(tag, generatedAt)).join('')}</ul>`
}

function renderTag(tag: PublicTag, now: string): string {
  const { name, status, availability, downMinutes, measuredSince, days } = tag
  const firstDay = days[0]?.day ?? measuredSince
  const down = downMinutes > 0 ? `, ${downMinutes.toLocaleString('en')} min without a healthy API` : ''
  return `<li><div class="r"><h3><bdi>${escapeHtml(name)}</bdi></h3><span class="s ${status}">${tagStatusTexts[status]}</span></div>
<p class="m">${freshnessText(tag, now)}</p>${renderDays(days)}<div class="r m"><span>${
    measuredSince > firstDay ? `Measured since ${dateText(measuredSince)}` : `${statusPageLimits.days} days`
  }</span><span>${availability === null ? 'No availability measured' : `${availability}% available${down}`}</span></div>${renderAffectedDays(days)}</li>
`
}

/** Returns how far the data of a service is behind its chain, and when that was measured. */
function freshnessText({ freshness, status }: PublicTag, now: string): string {
  if (!freshness)
    return status === 'hibernated' ? 'Its data is not being updated.' : 'The freshness of its data is not known.'
  const { blocks, seconds, head, asOf } = freshness
  const behind = `${blocks.toLocaleString('en')} ${blocks === 1 ? 'block' : 'blocks'}${seconds ? ` (${durationText(seconds)})` : ''} behind`
  return `${blocks === 0 ? 'At' : behind} the head of its chain, block ${head.toLocaleString('en')}, as of ${timeText(asOf, now)}`
}

function durationText(seconds: number): string {
  if (seconds < 120) return `${seconds} s`
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`
  if (seconds < 172_800) return `${Math.round(seconds / 3600)} h`
  return `${Math.round(seconds / 86_400)} days`
}
