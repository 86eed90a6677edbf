import type { Deployment, DeploymentStatus, DeploymentType } from '@shoal/contract'

/** Display names of the types of deployments. */
export const deploymentTypeLabels: Record<DeploymentType, string> = {
  DEPLOY: 'Deploy',
  DEPLOY_HARD_RESET: 'Deploy with hard reset',
  RESTART: 'Restart',
  HIBERNATE: 'Hibernate',
  DELETE: 'Delete',
  SET_TAG: 'Set tag',
  REMOVE_TAG: 'Remove tag',
  ROLLBACK: 'Rollback',
  REDEPLOY: 'Redeploy',
}

/** Whether deployments of this type may change the code that a version runs: they have an image, which they build or choose. */
export const deploysCode = (type: DeploymentType): boolean =>
  type === 'DEPLOY' || type === 'DEPLOY_HARD_RESET' || type === 'ROLLBACK' || type === 'REDEPLOY'

/** The type of a deployment, with the tag if it changes one: `Restart`, `Set tag production` */
export function deploymentTitle({ type, options: { tag } }: Pick<Deployment, 'type' | 'options'>): string {
  const isAboutTag = type === 'SET_TAG' || type === 'REMOVE_TAG'
  return isAboutTag && tag !== null ? `${deploymentTypeLabels[type]} ${tag}` : deploymentTypeLabels[type]
}

/** Display names of the steps of deployments. */
const stepLabels: Record<DeploymentStatus, string> = {
  UNPACKING: 'Unpacking',
  IMAGE_BUILDING: 'Building',
  RESETTING: 'Resetting data',
  ADDONS_SYNCING: 'Addons',
  SQUID_SYNCING: 'Starting',
  ADDING_INGRESS: 'Adding addresses',
  REMOVING_INGRESS: 'Removing addresses',
  SQUID_DELETING: 'Stopping',
  ADDONS_DELETING: 'Deleting data',
  DEPLOYING: 'Switching',
  OK: 'Done',
}

/** The name of a step in a deployment of this type: hibernating only stops the programs. */
export const stepLabel = (type: DeploymentType, status: DeploymentStatus): string =>
  type === 'HIBERNATE' && status === 'SQUID_SYNCING' ? 'Stopping' : stepLabels[status]

/** The start of an image's hash, which suffices to identify the image. */
export const shortImage = (image: string): string => image.slice(0, 12)
