import { isServerResponding } from '../../api/connection.ts'
import { PageHeader } from '../../components/PageHeader.tsx'
import { setPreview, usePreview } from '../../lib/preview-mode.ts'
import { Card } from '../../ui/Card.tsx'
import { Switch } from '../../ui/Switch.tsx'

/** Lets the user turn preview mode on and off (spec 2.12, `/preview`). */
export default function PreviewPage() {
  const change = async (isOn: boolean) => {
    setPreview(isOn)
    // While the server is unreachable, the browser's error page would replace the console.
    if (await isServerResponding()) location.reload()
  }
  return (
    <div className="max-w-140">
      <PageHeader title="Preview" context="Features that may still change before their release." />
      <Card isPadded>
        <Switch checked={usePreview()} onChange={(event) => void change(event.target.checked)}>
          Preview mode
        </Switch>
        <p className="mt-2 text-sm text-ink-2">
          Shows the Portal in the navigation of your organizations. The setting is stored only in this browser, in a
          cookie named <code>beta</code>. Changing it reloads the page.
        </p>
      </Card>
    </div>
  )
}
