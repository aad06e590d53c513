/** What cli-table3 measures by, so that what is laid out here and what it draws agree. */
declare module "cli-table3/src/utils.js" {
  const utilities: {
    /** The width of the widest line of a text, in columns of a terminal, colours left out. */
    strlen(text: string): number;
  };
  export default utilities;
}
