import type { SecretUse } from '@shoal/contract'
import type { Prefetch } from '../../api/prefetch.ts'
import { pollWhile } from '../../api/poll.ts'
import { q } from '../../api/query.ts'

/** The poll interval of the list of secrets. It is shorter while versions run with old values, since the user may be restarting them. */
export const pollWhileOutdated = pollWhile<SecretUse[]>(
  (secrets) => secrets.some(({ versions }) => versions.some(({ isOutdated }) => isOutdated)),
  { fastMs: 2_000, slowMs: 10_000 },
)

/** The secrets of an organization, and the versions that use them. */
export const usesQuery = (code: string) => q('secrets.listUses', { params: { code } })

/** Starts to fetch the secrets, which all pages about secrets show. */
export const prefetchUses: Prefetch = ({ client, org }) => void client.prefetchQuery(usesQuery(org.code))
