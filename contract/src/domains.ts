import { z } from 'zod'
import { endpoint } from './endpoint.ts'
import { SquidName, TagName, Time } from './fields.ts'

/**
 * `WAITING_FOR_DNS`: the DNS records do not yet prove that the organization controls the domain. `ISSUING`: they do, and a
 * certificate is being ordered. `ACTIVE`: the gateway serves the domain. `FAILED`: see `problem`.
 */
export const domainStates = ['WAITING_FOR_DNS', 'ISSUING', 'ACTIVE', 'FAILED'] as const

/** What DNS had for a record at the last check. `WAITING`: not checked yet. `UNKNOWN`: DNS did not respond. */
export const domainRecordStates = ['WAITING', 'FOUND', 'MISSING', 'UNKNOWN'] as const

/** The maximum number of domains of an organization. */
export const maxDomains = 20

const DomainRecord = z.object({
  type: z.enum(['CNAME', 'TXT']),
  name: z.string(),
  value: z.string(),
  state: z.enum(domainRecordStates),
  /** What DNS has instead; null unless the record is missing or unknown. */
  problem: z.string().nullable(),
})

const DomainCertificate = z.object({
  /** Null until the first order has succeeded. It is renewed when a third of its lifetime remains. */
  expiresAt: Time.nullable(),
  /** Why the last order failed; null if it succeeded. */
  problem: z.string().nullable(),
  /** When the next order starts: the first one, a retry after a failed one, or the renewal. */
  nextOrderAt: Time,
})

/** A domain of an organization, at which the gateway serves the API of one tag of a squid. */
export const Domain = z.object({
  /** In lower case, with international names in punycode, as in DNS. */
  name: z.string(),
  squid: z.string(),
  tag: z.string(),
  state: z.enum(domainStates),
  /** What is wrong, and how to correct it; null if nothing is. */
  problem: z.string().nullable(),
  /** The records that the owner of the domain must set. */
  records: z.array(DomainRecord),
  /** Null until the records prove that the organization controls the domain. */
  certificate: DomainCertificate.nullable(),
  /** When DNS was last queried; null before the first check. */
  checkedAt: Time.nullable(),
  /** When the records are checked again; null if they were missing for a week. They are then checked only on request. */
  nextCheckAt: Time.nullable(),
  createdAt: Time,
})

export const domains = {
  list: endpoint({
    method: 'GET',
    path: '/v1/orgs/{code}/domains',
    access: 'member',
    scope: 'read',
    summary: 'Domains of the organization, with their DNS records and states',
    payload: z.object({
      /** The name to which domains point; null if this installation serves no domains of organizations. */
      gatewayName: z.string().nullable(),
      domains: z.array(Domain),
    }),
  }),
  add: endpoint({
    method: 'POST',
    path: '/v1/orgs/{code}/domains',
    access: 'organization.write',
    scope: 'admin',
    summary: 'Serve the API of a tag at a domain, once its DNS records prove that the organization controls it',
    body: z.object({ name: z.string().min(1).max(300), squid: SquidName, tag: TagName }),
    payload: Domain,
    rateLimit: { calls: 40, perMs: 86_400_000 },
  }),
  check: endpoint({
    method: 'POST',
    path: '/v1/orgs/{code}/domains/{name}/check',
    access: 'organization.write',
    scope: 'admin',
    summary: 'Check the DNS records of the domain within seconds',
    payload: Domain,
    rateLimit: { calls: 60, perMs: 3_600_000 },
  }),
  remove: endpoint({
    method: 'DELETE',
    path: '/v1/orgs/{code}/domains/{name}',
    access: 'organization.write',
    scope: 'admin',
    summary: 'Stop serving the domain, and delete its certificate',
    payload: z.null(),
  }),
}
