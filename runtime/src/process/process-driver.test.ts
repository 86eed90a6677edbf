import { driverSuite } from '../driver-suite.ts'
import { bothOrNone, describeKinds } from './host-harness.ts'
import { openProcessHarness } from './process-harness.ts'

describeKinds(bothOrNone, (kind) => driverSuite('process', () => openProcessHarness(kind)))
