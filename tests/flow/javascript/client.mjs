// Runs the story of the JavaScript client in Node: the module and the address of the server are arguments.
import { story } from "./client_story.mjs";

const [, , module, url] = process.argv;
process.stdout.write(JSON.stringify(await story(await import(module), url)));
