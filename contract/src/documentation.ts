import type { WarningKind } from './alert-rules.ts'
import type { DeploymentFailure } from './deployments.ts'

/**
 * Returns the address of the paragraph of the documentation with cause and remedy of a warning, an alert or a failed deployment, as in
 * `/docs/troubleshooting#crash-loop`. `site/pages/troubleshooting.md` has a paragraph for each kind.
 */
export const troubleshootingUrl = (kind: WarningKind | Exclude<DeploymentFailure, 'NO'>): string =>
  `/docs/troubleshooting#${kind.toLowerCase().replaceAll('_', '-')}`
