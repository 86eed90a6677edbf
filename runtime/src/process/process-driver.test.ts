import { driverSuite } from '../driver-suite.ts'
import { standardKinds, describeKinds } from './host-harness.ts'
import { openProcessHarness } from './process-harness.ts'

describeKinds(standardKinds, (kind) => driverSuite('process', () => openProcessHarness(kind)))
