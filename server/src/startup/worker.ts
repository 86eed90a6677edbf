import type { WorkerApp } from '../app.ts'
import { mailJobs } from '../mail/index.ts'
import { channelJobs, queueDeliveriesWithoutJob, startAlerts } from '../modules/alerts/index.ts'
import { authJobs } from '../modules/auth/index.ts'
import { startBilling } from '../modules/billing/index.ts'
import { certificateJobs, startCertificates } from '../modules/certificates/index.ts'
import { startDomains } from '../modules/domains/index.ts'
import {
  removalJobs,
  defaultIntervals,
  startEngine,
  startReconcile,
  type EngineIntervals,
} from '../modules/deployments/index.ts'
import { startLogIngest, startLogsMove } from '../modules/logs/index.ts'
import { startSampling } from '../modules/metrics/index.ts'
import { startObserving } from '../modules/observing/index.ts'
import { runStatusRound } from '../modules/statuspage/index.ts'
import { userJobs } from '../modules/user/index.ts'
import { startArrivalReport } from '../move/arrival-report.ts'
import { retentionJobs } from './retention.ts'

export type RunningWorker = Pick<ReturnType<typeof startObserving>, 'observationAgeMs'> & {
  close: () => Promise<void>
}

/** Starts all background work. Tests pass shorter `intervals`. */
export async function startWorker(
  app: WorkerApp,
  intervals: EngineIntervals = defaultIntervals,
): Promise<RunningWorker> {
  await app.builder.recover()
  const engine = startEngine(app, intervals)
  const reconcile = startReconcile(engine.worker, engine.locks)
  const observing = startObserving(app)
  const logs = startLogIngest(app)
  const logsMove = startLogsMove(app)
  const sampling = startSampling(app)
  const billing = startBilling(app)
  const alerts = startAlerts(app, () => runStatusRound(app))
  const certificates = startCertificates(app)
  const domains = startDomains(app)
  const arrival = startArrivalReport(app)
  await queueDeliveriesWithoutJob(app)
  await app.jobs.work([
    ...mailJobs(app),
    ...authJobs(app),
    ...userJobs(app),
    ...retentionJobs(app),
    ...removalJobs(app),
    ...channelJobs(app),
    ...certificateJobs(app),
  ])
  return {
    observationAgeMs: observing.observationAgeMs,
    close: async () => {
      await reconcile.close()
      await engine.close()
      await observing.close()
      await logs.close()
      await logsMove.close()
      await sampling.close()
      await billing.close()
      await alerts.close()
      await certificates.close()
      await domains.close()
      await arrival.close()
    },
  }
}
