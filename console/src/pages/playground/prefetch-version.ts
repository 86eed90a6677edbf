import type { Prefetch } from '../../api/prefetch.ts'
import { versionQuery } from '../../api/version.ts'

/** Starts to fetch the version, which the playground and the schema both need first. */
export const prefetchVersion: Prefetch<{ squidName: string; squidSlot: string }> = ({ client, org, params }) =>
  void client.prefetchQuery(versionQuery({ code: org.code, reference: `${params.squidName}@${params.squidSlot}` }))
