import type { AlertKind } from './alert-rules.ts'
import type { DeploymentFailure } from './deployments.ts'

/**
 * Returns the address of the paragraph of the documentation with cause and remedy of an alert or a failed deployment, as in
 * `/docs/troubleshooting#crash-loop`. `site/pages/troubleshooting.md` has a paragraph for each kind.
 */
export const troubleshootingUrl = (kind: AlertKind | Exclude<DeploymentFailure, 'NO'>): string =>
  `/docs/troubleshooting#${kind.toLowerCase().replaceAll('_', '-')}`
