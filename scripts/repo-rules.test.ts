import { describe, expect, test } from 'vitest'
import { committedRules } from './repo-rules/committed.ts'
import { documentRules } from './repo-rules/documents.ts'
import { fileRules } from './repo-rules/files.ts'
import { importRules } from './repo-rules/imports.ts'
import { ownerRules } from './repo-rules/owners.ts'
import { programRules } from './repo-rules/programs.ts'
import { readRepo, repoOf } from './repo-rules/repo.ts'
import { tableRules } from './repo-rules/tables.ts'
import { wordRules } from './repo-rules/words.ts'
import { root } from './root.ts'

const repo = readRepo(root)

const rules = [
  ...importRules,
  ...ownerRules,
  ...tableRules,
  ...fileRules,
  ...programRules,
  ...documentRules,
  ...committedRules,
  ...wordRules,
]

describe.each(rules)('$title', (rule) => {
  test('the repository follows the rule', () => {
    const violations = rule.find(repo)
    expect(
      violations,
      `Rule: ${rule.title}\nWhy: ${rule.why}\nFix: ${rule.fix}\nViolations: ${violations.length}`,
    ).toEqual([])
  })

  test('the rule finds the violation in each example', () => {
    const violations = rule.find(repoOf({ ...rule.sample, ...rule.broken })).join('\n')
    const missed = Object.keys(rule.broken).filter((path) => !violations.includes(path))
    expect(missed).toEqual([])
  })
})
