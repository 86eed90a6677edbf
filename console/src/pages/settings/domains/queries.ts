import { pollWhile } from '../../../api/poll.ts'
import { q, type Payload } from '../../../api/query.ts'

export type Domain = Payload<'domains.list'>['domains'][number]

/** Whether the server checks the records within its next round: a check is due. */
export const isChecking = ({ nextCheckAt }: Domain, nowMs = Date.now()): boolean =>
  nextCheckAt !== null && Date.parse(nextCheckAt) <= nowMs

const isMoving = (domain: Domain): boolean =>
  domain.state === 'WAITING_FOR_DNS' || domain.state === 'ISSUING' || isChecking(domain)

/** The domains with their states: often while one of them changes. */
export const domainsQuery = (code: string) =>
  q(
    'domains.list',
    { params: { code } },
    {
      refetchInterval: pollWhile<Payload<'domains.list'>>(({ domains }) => domains.some(isMoving), {
        fastMs: 3_000,
        slowMs: 30_000,
      }),
    },
  )
