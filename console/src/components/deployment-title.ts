import type { Deployment, DeploymentType } from '@shoal/contract'

const typeLabels: Record<DeploymentType, string> = {
  DEPLOY: 'Deploy',
  DEPLOY_HARD_RESET: 'Deploy with hard reset',
  RESTART: 'Restart',
  HIBERNATE: 'Hibernate',
  DELETE: 'Delete',
  SET_TAG: 'Set tag',
  REMOVE_TAG: 'Remove tag',
  ROLLBACK: 'Rollback',
}

/** `Set tag production` */
export function deploymentTitle({ type, options: { tag } }: Pick<Deployment, 'type' | 'options'>): string {
  const isAboutTag = type === 'SET_TAG' || type === 'REMOVE_TAG'
  return isAboutTag && tag !== null ? `${typeLabels[type]} ${tag}` : typeLabels[type]
}
