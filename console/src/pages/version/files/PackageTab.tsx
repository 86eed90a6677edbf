import { useVersion } from '../use-version.ts'
import { CodeView } from './CodeView.tsx'

/** Spec 2.9. */
export default function PackageTab() {
  return <CodeView name="package.json" code={JSON.stringify(useVersion().packageJson, null, 2)} language="json" />
}
