import type { AlertKind } from '@shoal/contract'
import { apiRules } from './apis.ts'
import { organizationRules } from './organizations.ts'
import { processorRules } from './processors.ts'
import { programRules } from './programs.ts'
import type { Rule } from './rule.ts'
import { versionRules } from './versions.ts'

/** Every alert rule. Its title, explanation and threshold are in `alertRules` of the contract, since the console shows them. */
export const rules: Record<AlertKind, Rule> = {
  ...programRules,
  ...processorRules,
  ...apiRules,
  ...versionRules,
  ...organizationRules,
}
