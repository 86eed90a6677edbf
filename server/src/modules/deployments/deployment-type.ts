import type { deploymentOperations, DeploymentType } from '@shoal/contract'
import type { DeploymentRow } from './store.ts'

/** What the engine does for a deployment; `plans.ts` has the steps of each operation. */
export type Operation = (typeof deploymentOperations)[number]

/** Returns the type that users see: `REDEPLOY` for a rollback to the image that the version already runs. */
export const displayedTypeOf = ({ type, isRedeploy }: Pick<DeploymentRow, 'type' | 'isRedeploy'>): DeploymentType =>
  isRedeploy ? 'REDEPLOY' : type
