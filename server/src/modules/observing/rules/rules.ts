import type { AlertKind } from '@shoal/contract'
import { apiDown, apiSlow } from './apis.ts'
import { paymentTrouble, quotaNear } from './organizations.ts'
import { frozenHead, lagging, sourceSilent, stalled, wronglySynced } from './processors.ts'
import { crashLoop, outOfMemory } from './programs.ts'
import type { Rule } from './rule.ts'
import { deployFailed, lowSpace } from './versions.ts'

/** Every alert rule. Its title, explanation and threshold are in `alertRules` of the contract, since the console shows them. */
export const rules: Record<AlertKind, Rule> = {
  CRASH_LOOP: crashLoop,
  OUT_OF_MEMORY: outOfMemory,
  SOURCE_SILENT: sourceSilent,
  STALLED: stalled,
  WRONG_SYNCED: wronglySynced,
  FROZEN_HEAD: frozenHead,
  LAGGING: lagging,
  API_DOWN: apiDown,
  API_SLOW: apiSlow,
  LOW_SPACE: lowSpace,
  DEPLOY_FAILED: deployFailed,
  QUOTA_NEAR: quotaNear,
  PAYMENT: paymentTrouble,
}
