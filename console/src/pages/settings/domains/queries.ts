import { pollWhile } from '../../../api/poll.ts'
import { q, type Payload } from '../../../api/query.ts'

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
