import { rules } from './rules.ts'

/** Generates the source of `contract/src/alert-rules.gen.ts`, unformatted. */
export function alertRulesSource(): string {
  const texts = Object.entries(rules).map(([kind, { title, explanation, threshold }]) => [
    kind,
    { title, explanation, threshold },
  ])
  return `// Generated from the alert rules of the server (\`server/src/modules/observing/rules/\`) by \`npm run check -- --write\`; do not edit by hand.
import type { AlertRuleTexts } from './alert-rules.ts'

export const alertRuleTexts = ${JSON.stringify(Object.fromEntries(texts), null, 2)} satisfies Record<string, AlertRuleTexts>
`
}

const begin = '<!-- Generated from the rules by `npm run check -- --write`. -->'
const end = '<!-- End of the generated part. -->'

/** Replaces the table of rules in the text of `docs/alerts.md`. @throws if the text has no place for it */
export function withAlertRules(text: string): string {
  const [before, rest] = text.split(`${begin}\n`)
  const after = rest?.split(end)[1]
  if (before === undefined || after === undefined) throw new Error('docs/alerts.md has no place for the rules')
  const rows = Object.entries(rules).map(([kind, { opensWhen }]) => `| \`${kind}\` | ${opensWhen} |`)
  return `${before}${begin}\n\n| kind | opened when |\n|---|---|\n${rows.join('\n')}\n\n${end}${after}`
}
