import { RelativeTime } from '../../../components/RelativeTime.tsx'
import { formatDate } from '../../../lib/format.ts'
import type { Domain } from './queries.ts'

/** The state of the domain's certificate, in one or two sentences. */
export function Certificate({ domain: { certificate } }: { domain: Domain }) {
  if (certificate === null) return <>Ordered when both records are found.</>
  const { expiresAt, problem, nextOrderAt } = certificate
  const next = <RelativeTime at={nextOrderAt} />
  if (expiresAt === null)
    return problem === null ? <>Being ordered. This takes less than a minute.</> : <>None yet. Next order: {next}.</>
  return (
    <>
      Valid until {formatDate(expiresAt)}.{' '}
      {problem === null ? (
        <>Renewed automatically, from {formatDate(nextOrderAt)} on.</>
      ) : (
        <>
          The renewal failed: {problem} Next order: {next}.
        </>
      )}
    </>
  )
}
