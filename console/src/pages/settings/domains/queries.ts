import type { QueryClient } from '@tanstack/react-query'
import { pollWhile } from '../../../api/poll.ts'
import { q, type Payload } from '../../../api/query.ts'
import { seed, withItem } from '../../../api/seed.ts'

export type Domain = Payload<'domains.list'>['domains'][number]

/** Whether a check of the records is due, so that the server is checking them or will check them in its next round. */
export const isChecking = ({ nextCheckAt }: Domain, nowMs = Date.now()): boolean =>
  nextCheckAt !== null && Date.parse(nextCheckAt) <= nowMs

const isChanging = (domain: Domain): boolean =>
  domain.state === 'WAITING_FOR_DNS' || domain.state === 'ISSUING' || isChecking(domain)

/** The domains with their states, polled faster while one of them changes. */
export const domainsQuery = (code: string) =>
  q(
    'domains.list',
    { params: { code } },
    {
      refetchInterval: pollWhile<Payload<'domains.list'>>(({ domains }) => domains.some(isChanging), {
        fastMs: 3_000,
        slowMs: 30_000,
      }),
    },
  )

/** Changes the cached list of domains. */
const seedDomains = (client: QueryClient, code: string, change: (domains: Domain[]) => Domain[]): void =>
  seed(client, 'domains.list', { params: { code } }, (list) => ({ ...list, domains: change(list.domains) }))

/** Adds a new domain to the cached list, or replaces a changed one. */
export const seedDomain = (client: QueryClient, code: string, domain: Domain): void =>
  seedDomains(client, code, (domains) => withItem(domains, domain, ({ name }) => name))

/** Removes a domain from the cached list. */
export const seedRemovedDomain = (client: QueryClient, code: string, removed: string): void =>
  seedDomains(client, code, (domains) => domains.filter(({ name }) => name !== removed))
