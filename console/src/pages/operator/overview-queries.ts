import { q } from '../../api/query.ts'

/** Processes report every ten seconds. */
const pollMs = 10_000

export const overviewQuery = q('operators.getOverview', {}, { refetchInterval: pollMs })
export const runningQuery = q('operators.listDeployments', {}, { refetchInterval: pollMs })
