import type { ReactNode } from 'react'
import { Tab, TabList, TabPanel, Tabs as AriaTabs } from 'react-aria-components'
import { tabClass, tabListClass } from './control-classes.ts'

type Props = {
  label: string
  tabs: readonly { id: string; label: string; content: ReactNode; isDisabled?: boolean }[]
}

/** Tabs within a page. */
export function Tabs({ label, tabs }: Props) {
  return (
    <AriaTabs>
      <TabList aria-label={label} className={tabListClass}>
        {tabs.map((tab) => (
          <Tab key={tab.id} id={tab.id} isDisabled={tab.isDisabled ?? false} className={tabClass}>
            {tab.label}
          </Tab>
        ))}
      </TabList>
      {tabs.map((tab) => (
        <TabPanel key={tab.id} id={tab.id} className="pt-4 outline-offset-4">
          {tab.content}
        </TabPanel>
      ))}
    </AriaTabs>
  )
}
