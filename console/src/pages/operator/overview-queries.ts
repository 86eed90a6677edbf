import { q } from '../../api/query.ts'

/** Processes send a heartbeat every ten seconds, so more frequent polls would show nothing new. */
const pollMs = 10_000

/** The problems and the state of the installation. */
export const overviewQuery = q('operators.getOverview', {}, { refetchInterval: pollMs })
/** The deployments of all organizations that have not ended. */
export const runningQuery = q('operators.listDeployments', {}, { refetchInterval: pollMs })
