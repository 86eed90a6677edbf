import type { DeploymentLog } from '@shoal/contract'
import { withoutColours } from './ansi.ts'

/** Selects the lines that contain this text, ignoring case, and have one of these severities; null selects all severities. */
export type LineFilter = { search: string; severities: readonly DeploymentLog['severity'][] | null }

/** A filter that selects all lines. */
export const noFilter: LineFilter = { search: '', severities: null }

/** The lines that the filter selects, in their order. */
export function matchingLines(lines: readonly DeploymentLog[], { search, severities }: LineFilter) {
  const text = search.toLowerCase()
  return lines.filter(
    ({ severity, message }) =>
      (severities === null || severities.includes(severity)) && withoutColours(message).toLowerCase().includes(text),
  )
}
