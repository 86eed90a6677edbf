import { hostname } from 'node:os'

/** What operators call this process: `host/pid`. */
export const replicaName = `${hostname()}/${process.pid}`
