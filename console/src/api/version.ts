import { isDeploying, type Squid } from '@shoal/contract'
import { pollWhile } from './poll.ts'
import { q } from './query.ts'

/** Polls every second while a deployment runs (spec 9), otherwise every five seconds. */
const refetchInterval = pollWhile<Squid>(isDeploying, { fastMs: 1000, slowMs: 5000 })

type VersionParams = { code: string; reference: string }

/** A version without its manifest and package.json, which are long and change only with a deployment. */
export const versionQuery = (params: VersionParams) => q('squids.get', { params, query: { files: 'false' } })

/** The version of the page, polled. */
export const polledVersionQuery = (params: VersionParams) => ({ ...versionQuery(params), refetchInterval })

/** A version with its manifest and package.json. */
export const versionFilesQuery = (params: VersionParams) => q('squids.get', { params }, { refetchInterval: 30_000 })
