import { z } from 'zod'
import { endpoint } from './endpoint.ts'
import { DisplayName, Id, RequiredText, SquidName, TagName, Time } from './fields.ts'
import { incidentImpacts, incidentStates, statusAlertKinds, statusPageLimits } from './status-page-options.ts'

export {
  incidentImpacts,
  incidentStates,
  incidentStateTexts,
  statusAlertKinds,
  statusAlertTexts,
  statusPageLimits,
  type IncidentImpact,
  type IncidentState,
  type StatusAlertKind,
} from './status-page-options.ts'

export const StatusSlug = RequiredText('Address is required')
  .regex(/^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/, 'Only lowercase letters, digits and inner hyphens are allowed')
  .min(3, 'Between 3 and 64 characters.')
  .max(64, 'Between 3 and 64 characters.')

const PublicName = (required: string) => DisplayName(required).max(60, 'At most 60 characters.')

/** The plain text of an update. It may contain line breaks, but no other control characters and no characters that reorder text. */
const IncidentText = RequiredText('Text is required')
  .max(statusPageLimits.textLength, `At most ${statusPageLimits.textLength} characters.`)
  .regex(/^(?:[^\p{Cc}\u2028-\u202E\u2066-\u2069]|\n)*$/u, 'Control characters are not allowed')

/** A tag of a squid: `name:tag`. */
const TagReference = z.object({ squid: SquidName, tag: TagName })

export const StatusPageTag = TagReference.extend({ name: PublicName('Name is required') })
export type StatusPageTag = z.infer<typeof StatusPageTag>

const tagKey = ({ squid, tag }: { squid: string; tag: string }) => `${squid}:${tag}`
const isUnique = (tags: { squid: string; tag: string }[]) => new Set(tags.map(tagKey)).size === tags.length

const Settings = z.object({
  isEnabled: z.boolean(),
  title: PublicName('Title is required'),
  /** The page is at `/status/SLUG`. */
  slug: StatusSlug,
  /** In display order. */
  tags: z
    .array(StatusPageTag)
    .max(statusPageLimits.tags, `At most ${statusPageLimits.tags} tags.`)
    .refine(isUnique, 'Each tag may be on the page only once.'),
  /** The kinds of alerts that open an incident. */
  alertKinds: z.array(z.enum(statusAlertKinds)).max(statusAlertKinds.length),
})

export const StatusPage = Settings.extend({
  url: z.string(),
  /**
   * The URL at which an administrator can see the page for an hour while it is off. Null for other members, while the page is on,
   * and before its settings are first saved.
   */
  previewUrl: z.string().nullable(),
})
export type StatusPage = z.infer<typeof StatusPage>

export const StatusUpdate = z.object({ id: Id, at: Time, state: z.enum(incidentStates), text: z.string() })
export type StatusUpdate = z.infer<typeof StatusUpdate>

export const StatusIncident = z.object({
  id: z.string(),
  title: z.string(),
  impact: z.enum(incidentImpacts),
  /** The tags that the incident affects; none means the whole page. The page does not show tags that were removed from it. */
  tags: z.array(z.object({ squid: z.string(), tag: z.string() })),
  /** Whether an alert opened the incident. Shoal resolves it when the alert ends, unless a member has reopened it. */
  isAutomatic: z.boolean(),
  startedAt: Time,
  /** Null while the incident is open. */
  resolvedAt: Time.nullable(),
  /** Newest first; never empty. */
  updates: z.array(StatusUpdate),
})
export type StatusIncident = z.infer<typeof StatusIncident>

const IncidentFields = z.object({
  title: DisplayName('Title is required').max(120, 'At most 120 characters.'),
  impact: z.enum(incidentImpacts),
  tags: z.array(TagReference).max(statusPageLimits.tags).refine(isUnique, 'Each tag may be listed only once.'),
})
const NewUpdate = z.object({ state: z.enum(incidentStates), text: IncidentText })

export const statusPage = {
  get: endpoint({
    method: 'GET',
    path: '/v1/orgs/{code}/status-page',
    access: 'member',
    scope: 'read',
    summary: 'Settings of the public status page',
    payload: StatusPage,
  }),
  update: endpoint({
    method: 'PUT',
    path: '/v1/orgs/{code}/status-page',
    access: 'organization.write',
    scope: 'admin',
    summary: 'Turn the public status page on or off, and change its address, tags and alerts',
    body: Settings,
    payload: StatusPage,
  }),
  listIncidents: endpoint({
    method: 'GET',
    path: '/v1/orgs/{code}/status-page/incidents',
    access: 'member',
    scope: 'read',
    summary: 'The newest 100 incidents: open ones first, then newest first',
    payload: z.array(StatusIncident),
  }),
  createIncident: endpoint({
    method: 'POST',
    path: '/v1/orgs/{code}/status-page/incidents',
    access: 'squids.write',
    scope: 'admin',
    summary: 'Publish an incident with its first update',
    body: IncidentFields.extend(NewUpdate.shape),
    payload: StatusIncident,
  }),
  changeIncident: endpoint({
    method: 'PUT',
    path: '/v1/orgs/{code}/status-page/incidents/{incidentId}',
    access: 'squids.write',
    scope: 'admin',
    summary: 'Change the title, the impact and the tags of an incident',
    body: IncidentFields,
    payload: StatusIncident,
  }),
  addUpdate: endpoint({
    method: 'POST',
    path: '/v1/orgs/{code}/status-page/incidents/{incidentId}/updates',
    access: 'squids.write',
    scope: 'admin',
    summary: 'Publish an update; RESOLVED resolves the incident, any other state opens it again',
    body: NewUpdate,
    payload: StatusIncident,
  }),
  changeUpdate: endpoint({
    method: 'PUT',
    path: '/v1/orgs/{code}/status-page/incidents/{incidentId}/updates/{updateId}',
    access: 'squids.write',
    scope: 'admin',
    summary: 'Change the text of an update',
    body: NewUpdate.pick({ text: true }),
    payload: StatusIncident,
  }),
  removeIncident: endpoint({
    method: 'DELETE',
    path: '/v1/orgs/{code}/status-page/incidents/{incidentId}',
    access: 'squids.write',
    scope: 'admin',
    summary: 'Remove an incident from the page',
    payload: z.null(),
  }),
}
