import type { Squid } from '@shoal/contract'
import { useQuery, type UseQueryResult } from '@tanstack/react-query'
import type { Prefetch } from '../../../api/prefetch.ts'
import { versionFilesQuery, type VersionPath } from '../../../api/version.ts'
import { useVersionParams } from '../use-version.ts'

/** The version with its manifest and package.json. */
export const useVersionFiles = (): UseQueryResult<Squid> => useQuery(versionFilesQuery(useVersionParams()))

/** Starts to fetch the version with its files, which both tabs show. */
export const prefetchFiles: Prefetch<VersionPath> = ({ client, org, params: { squidName, squidSlot } }) =>
  void client.prefetchQuery(versionFilesQuery({ code: org.code, reference: `${squidName}@${squidSlot}` }))
