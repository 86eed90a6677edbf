import type { deploymentOperations, DeploymentType } from '@shoal/contract'
import type { DeploymentRow } from './store.ts'

/** What the engine does; each operation has its steps in `plans.ts`. */
export type Operation = (typeof deploymentOperations)[number]

/** Returns the type to show to users. */
export const typeOf = ({ type, isRedeploy }: Pick<DeploymentRow, 'type' | 'isRedeploy'>): DeploymentType =>
  isRedeploy ? 'REDEPLOY' : type
