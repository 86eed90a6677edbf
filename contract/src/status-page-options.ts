/** Values of status pages that the console shows without loading zod. */

export const statusPageLimits = {
  tags: 20,
  textLength: 2000,
  /** Per organization. Old incidents can be removed. */
  incidents: 500,
  updatesPerIncident: 50,
  /** The page shows the availability and the resolved incidents of this many days. */
  days: 90,
  /** Maximum number of an organization's previous slugs that stay reserved, so that others cannot use them: for 90 days after the change. */
  heldSlugs: 5,
} as const

/** `OUTAGE`: the squid does not serve requests. `DEGRADED`: it does, but slowly, partly or with old data. */
export const incidentImpacts = ['DEGRADED', 'OUTAGE'] as const
export type IncidentImpact = (typeof incidentImpacts)[number]

export const incidentStates = ['INVESTIGATING', 'IDENTIFIED', 'MONITORING', 'RESOLVED'] as const
export type IncidentState = (typeof incidentStates)[number]
export const incidentStateTexts: Record<IncidentState, string> = {
  INVESTIGATING: 'Investigating',
  IDENTIFIED: 'Identified',
  MONITORING: 'Monitoring',
  RESOLVED: 'Resolved',
}

/** The alerts that may open an incident, with its public texts. Reasons of alerts are private and never published. */
export const statusAlertTexts = {
  API_DOWN: { title: 'The API does not respond', impact: 'OUTAGE' },
  API_SLOW: { title: 'The API responds slowly', impact: 'DEGRADED' },
  STALLED: { title: 'Data is not being updated', impact: 'DEGRADED' },
  LAGGING: { title: 'Data is behind the chain', impact: 'DEGRADED' },
  FROZEN_HEAD: { title: 'The data source shows no new blocks', impact: 'DEGRADED' },
} as const satisfies Record<string, { title: string; impact: IncidentImpact }>
export type StatusAlertKind = keyof typeof statusAlertTexts
export const statusAlertKinds = Object.keys(statusAlertTexts) as [StatusAlertKind, ...StatusAlertKind[]]
