import type { Squid } from '@shoal/contract'
import type { SquidRow } from '../versions/index.ts'

/** The raw status of a version; `contract/src/squid-status.ts` derives the displayed status from it. */
export function squidStatusOf(squid: Pick<SquidRow, 'desiredState' | 'lastDeploy'>): Squid['status'] {
  if (squid.lastDeploy?.running) return 'DEPLOYING'
  if (squid.desiredState === 'hibernated') return 'HIBERNATED'
  return squid.lastDeploy && squid.lastDeploy.failed !== 'NO' ? 'DEPLOY_ERROR' : 'DEPLOYED'
}
