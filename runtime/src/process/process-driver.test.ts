import { driverSuite } from '../driver-suite.ts'
import { type Kind, openProcessHarness } from './process-harness.ts'

const kinds: Kind[] = [
  { sandbox: 'auto', limits: 'auto' },
  { sandbox: 'none', limits: 'none' },
]
for (const kind of kinds) {
  driverSuite(`process, sandbox ${kind.sandbox}, limits ${kind.limits}`, () => openProcessHarness(kind))
}
