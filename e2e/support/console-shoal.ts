import { inject } from 'vitest'
import { connectToShoal, type RunningShoal } from './shoal.ts'

/** Returns the Shoal that all test files of the console share (`e2e/console/global-setup.ts`). */
export const consoleShoal = (): RunningShoal => connectToShoal(inject('consoleShoal'))
