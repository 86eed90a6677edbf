import { QueryView } from '../../../components/QueryView.tsx'
import { CodeView } from './CodeView.tsx'
import { prefetchFiles, useVersionFiles } from './files.ts'

export const prefetch = prefetchFiles

/** The `package.json` of the version (spec 2.9). */
export default function PackageTab() {
  return (
    <QueryView query={useVersionFiles()} what="The package.json">
      {({ packageJson }) => (
        <CodeView name="package.json" code={JSON.stringify(packageJson, null, 2)} language="json" />
      )}
    </QueryView>
  )
}
