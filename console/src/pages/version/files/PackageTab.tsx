import { useVersion } from '../use-version.ts'
import { CodeView } from './CodeView.tsx'

/** The `package.json` of the version (spec 2.9). */
export default function PackageTab() {
  return <CodeView name="package.json" code={JSON.stringify(useVersion().packageJson, null, 2)} language="json" />
}
