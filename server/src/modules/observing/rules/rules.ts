import type { AlertKind } from '@shoal/contract'
import { apiRules } from './apis.ts'
import { organizationRules } from './organizations.ts'
import { processorRules } from './processors.ts'
import { programRules } from './programs.ts'
import type { Rule } from './rule.ts'
import { versionRules } from './versions.ts'

/** Every alert rule, in display order. `rule-documents.ts` generates the texts in the contract and the table in `docs/alerts.md`. */
export const rules: Record<AlertKind, Rule> = {
  ...programRules,
  ...processorRules,
  ...apiRules,
  ...versionRules,
  ...organizationRules,
}
