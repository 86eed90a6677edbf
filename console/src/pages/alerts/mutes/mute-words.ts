import { alertRules, type AlertMute } from '@shoal/contract'

/** How long one may ask for quiet. */
export const muteLengths = [
  { value: '60', label: '1 hour' },
  { value: '480', label: '8 hours' },
  { value: '1440', label: '1 day' },
  { value: '10080', label: '1 week' },
] as const
export type MuteMinutes = (typeof muteLengths)[number]['value']

/** What nobody is told of: `Stalled of lending@v1`, `Everything of lending@v1`, `Stalled`, `All alerts`. */
export function mutedTitle({ kind, squid }: Pick<AlertMute, 'kind' | 'squid'>): string {
  const what = kind === null ? null : alertRules[kind].title
  if (squid === null) return what ?? 'All alerts'
  return `${what ?? 'Everything'} of ${squid.name}@${squid.slot}`
}
