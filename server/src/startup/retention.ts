import type { App } from '../app.ts'
import { days } from '../clock.ts'
import type { Db } from '../db/database.ts'
import type { Job } from '../jobs/jobs.ts'
import { deleteEndedAlertsBefore } from '../modules/alerts/index.ts'
import { deleteAuditBefore } from '../modules/audit/index.ts'
import { deletePaymentsBefore, deleteTestSetupsBefore, deleteUsageRecordsBefore } from '../modules/billing/index.ts'
import { deleteDeploymentsBefore } from '../modules/deployments/index.ts'
import { deleteQuotaUseBefore } from '../modules/orgs/index.ts'
import { deletePortalUsageBefore } from '../modules/portal/index.ts'
import { deleteRpcUsageBefore } from '../modules/rpc/index.ts'
import {
  deleteReservedSlugsBefore,
  deleteIncidentsResolvedBefore,
  deleteStatusDaysBefore,
} from '../modules/statuspage/index.ts'
import { statusPageLimits } from '@shoal/contract'

type Retention = { rows: string; keptDays: number; deleteBefore: (db: Db, at: Date) => Promise<number> }

/** How long an organization can complete a card form of the test provider, at least. */
const testSetupDays = 7

/** The rows that would otherwise accumulate, and how long each kind is kept. Logs and metrics have their own retention, which drops whole days. */
const listRetentions = ({ config }: Pick<App, 'config'>): Retention[] => [
  { rows: 'deployments', keptDays: config.SHOAL_DEPLOYMENT_DAYS, deleteBefore: deleteDeploymentsBefore },
  { rows: 'alerts', keptDays: config.SHOAL_ALERT_DAYS, deleteBefore: deleteEndedAlertsBefore },
  { rows: 'audit log', keptDays: config.SHOAL_AUDIT_DAYS, deleteBefore: deleteAuditBefore },
  { rows: 'usage records', keptDays: config.SHOAL_USAGE_DAYS, deleteBefore: deleteUsageRecordsBefore },
  { rows: 'RPC usage', keptDays: config.SHOAL_USAGE_DAYS, deleteBefore: deleteRpcUsageBefore },
  { rows: 'Portal usage', keptDays: config.SHOAL_USAGE_DAYS, deleteBefore: deletePortalUsageBefore },
  { rows: 'usage of quotas', keptDays: config.SHOAL_USAGE_DAYS, deleteBefore: deleteQuotaUseBefore },
  { rows: 'payments', keptDays: config.SHOAL_PAYMENT_DAYS, deleteBefore: deletePaymentsBefore },
  { rows: 'card forms of the test provider', keptDays: testSetupDays, deleteBefore: deleteTestSetupsBefore },
  { rows: 'days of status pages', keptDays: statusPageLimits.days + 1, deleteBefore: deleteStatusDaysBefore },
  { rows: 'incidents', keptDays: statusPageLimits.days + 1, deleteBefore: deleteIncidentsResolvedBefore },
  { rows: 'reserved addresses of status pages', keptDays: 0, deleteBefore: deleteReservedSlugsBefore },
]

export const retentionJobs = (app: App): Job<never>[] => [
  { name: 'delete-old-rows', schedule: '20 3 * * *', run: () => deleteOldRows(app) },
]

/** Deletes expired rows of all kinds. @throws the first error, after all kinds were processed */
async function deleteOldRows(app: App): Promise<void> {
  const failures: unknown[] = []
  for (const { rows, keptDays, deleteBefore } of listRetentions(app)) {
    try {
      const deleted = await deleteBefore(app.db, new Date(app.clock.now().getTime() - days(keptDays)))
      if (deleted > 0) app.log.info({ rows, deleted, keptDays }, 'old rows deleted')
    } catch (error) {
      failures.push(error)
    }
  }
  if (failures.length > 0) throw failures[0]
}
