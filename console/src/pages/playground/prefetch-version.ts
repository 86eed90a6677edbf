import type { Prefetch } from '../../api/prefetch.ts'
import { versionQuery } from '../../api/version.ts'

/** The playground and the schema both need the version first. */
export const prefetchVersion: Prefetch<{ squidName: string; squidSlot: string }> = ({ client, org, params }) =>
  void client.prefetchQuery(versionQuery({ code: org.code, reference: `${params.squidName}@${params.squidSlot}` }))
