/** The semantic colours of statuses and messages. */
export type Tone = 'neutral' | 'accent' | 'good' | 'warn' | 'bad' | 'info'

/** Classes for text in a tone. */
export const toneText: Record<Tone, string> = {
  neutral: 'text-ink-3',
  accent: 'text-accent',
  good: 'text-good',
  warn: 'text-warn',
  bad: 'text-bad',
  info: 'text-info',
}

/** Classes for text in a tone on a soft background in that tone. */
export const toneSoft: Record<Tone, string> = {
  neutral: 'bg-muted text-ink-2',
  accent: 'bg-accent-soft text-accent',
  good: 'bg-good-soft text-good',
  warn: 'bg-warn-soft text-warn',
  bad: 'bg-bad-soft text-bad',
  info: 'bg-info-soft text-info',
}
