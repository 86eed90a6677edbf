import { hostname } from 'node:os'

/** The name of this process for operators: `host/pid`. */
export const replicaName = `${hostname()}/${process.pid}`
