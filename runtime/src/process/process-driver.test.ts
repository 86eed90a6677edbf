import { driverSuite } from '../driver-suite.ts'
import { type Kind, describeKinds } from './host-harness.ts'
import { openProcessHarness } from './process-harness.ts'

const kinds: Kind[] = [
  { sandbox: 'auto', limits: 'auto' },
  { sandbox: 'none', limits: 'none' },
]
describeKinds(kinds, (kind) => driverSuite('process', () => openProcessHarness(kind)))
