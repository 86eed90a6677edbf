import type { WarningKind } from './alert-rules.ts'
import type { DeploymentFailure } from './deployments.ts'

/**
 * Returns the path of the documentation's paragraph on a kind of warning, alert or failed deployment: its cause, and how to fix
 * it. For example `/docs/troubleshooting#crash-loop`. `site/pages/troubleshooting.md` has a paragraph for each kind.
 */
export const troubleshootingUrl = (kind: WarningKind | Exclude<DeploymentFailure, 'NO'>): string =>
  `/docs/troubleshooting#${kind.toLowerCase().replaceAll('_', '-')}`
